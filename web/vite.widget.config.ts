import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

// The widget of notebooks: a module and a style for anywidget.
export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  publicDir: false,
  build: {
    outDir: process.env.FARLINK_WEB_OUT ?? "../python/farlink/web",
    emptyOutDir: false,
    target: "es2022",
    lib: { entry: "src/widget/index.ts", formats: ["es"], fileName: () => "widget.js" },
    rollupOptions: { output: { assetFileNames: "widget[extname]" } },
  },
});
