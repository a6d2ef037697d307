import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { lessons } from "./lessons-plugin";
import { inlineWorkers, singleFile, withEngine } from "./single-plugin";

const whole = fileURLToPath(new URL("../build/farlink.html", import.meta.url));

// The page as one file: without its engine, which the package has already, and with it.
export default defineConfig({
  plugins: [
    inlineWorkers(),
    lessons(),
    singleFile("single.html"),
    withEngine("single.html", whole),
  ],
  root: fileURLToPath(new URL(".", import.meta.url)),
  publicDir: false,
  build: {
    outDir: process.env.FARLINK_WEB_OUT ?? "../python/farlink/web",
    emptyOutDir: false,
    target: "es2022",
    cssCodeSplit: false,
    chunkSizeWarningLimit: 800,
    rollupOptions: {
      input: fileURLToPath(new URL("src/single.ts", import.meta.url)),
      output: { format: "iife", inlineDynamicImports: true },
    },
  },
  worker: { format: "iife", plugins: () => [inlineWorkers()] },
});
