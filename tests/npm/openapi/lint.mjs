// usage: node lint.mjs DOCUMENT: prints what the linter's recommended rules say against it; exit status 1 when that is anything.
import { createConfig, formatProblems, getTotals, lint } from "@redocly/openapi-core";

const config = await createConfig({
  extends: ["recommended-strict"],
  // No licence is granted, so the document names none.
  rules: { "info-license": "off" },
});
const problems = await lint({ ref: process.argv[2], config });
formatProblems(problems, { format: "stylish", totals: getTotals(problems), version: "" });
process.exit(problems.length === 0 ? 0 : 1);
