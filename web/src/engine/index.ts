export { openEngine, type EngineOptions } from "./client";
export * from "./types";
