#!/usr/bin/env bash
# The document of the sample, as tools of the field read it: from the command line, without a server.
set -euo pipefail
cd "$(dirname "$0")"
export PATH="$PWD/node_modules/.bin:$PATH"
rm -rf out
mkdir out
node ../../dist/cli/main.js openapi data-source.ts --options options.ts --output out/openapi.json
redocly lint out/openapi.json --extends recommended --max-problems 20
openapi-typescript out/openapi.json --output out/openapi.ts
tsc -p .
# The typed client, under a TypeScript before 7, and in an editor.
tsc -p ../types/tsconfig.client.json
node completions.mjs
