import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { lessons } from "./lessons-plugin";

// The page as static files with relative addresses: any folder of any host serves it.
export default defineConfig({
  base: "./",
  plugins: [lessons()],
  root: fileURLToPath(new URL(".", import.meta.url)),
  build: {
    outDir: process.env.FARLINK_WEB_OUT ?? "../python/farlink/web",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 400,
  },
  worker: { format: "es" },
  server: { host: "127.0.0.1" },
  preview: { host: "127.0.0.1" },
});
