import { defineConfig } from "vitest/config";
import { lessons } from "./lessons-plugin";

export default defineConfig({
  plugins: [lessons()],
  test: {
    include: ["tests/unit/**/*.test.ts"],
    setupFiles: ["tests/unit/setup.ts"],
    environment: "node",
    maxWorkers: 2,
  },
});
