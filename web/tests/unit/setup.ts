import fc from "fast-check";

// Properties of CI draw the same cases each time; FARLINK_SEED=N draws others.
fc.configureGlobal({ seed: Number(process.env.FARLINK_SEED ?? 1) });
