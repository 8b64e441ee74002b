import { defineConfig } from "oxlint";
import { BOUNDARIES, ENVIRONMENT_DOOR, SLICE_PRIVATE, SQL_DOORS, SQL_MESSAGE, SQL_METHODS } from "./scripts/boundaries.ts";

// oxlint replaces the options of a rule that a later override names: each override carries the whole list that holds there.

const FACTORY = "factory/src/**/*.ts";
const WIRING = "factory/src/main.ts";
const MAX_LINES = 300;
const MAX_FUNCTION_LINES = 60;
/** Three positional ones, then a named object or the signal. */
const MAX_PARAMETERS = 4;

/** Import rules without those of the given boundaries. */
function restrictImports({
  open = [],
  isSqlOpen = false,
  isSliceOpen = false,
}: {
  open?: readonly string[];
  isSqlOpen?: boolean;
  isSliceOpen?: boolean;
}) {
  const patterns = BOUNDARIES.filter((boundary) => !open.includes(boundary.name)).flatMap(({ modules, message }) =>
    modules.map((regex) => ({ regex, message })),
  );
  if (!isSliceOpen) patterns.push({ regex: SLICE_PRIVATE.pattern, message: SLICE_PRIVATE.message });
  const paths = [
    { name: "node:process", importNames: ["env"], message: "Only config.ts reads the environment." },
    ...(isSqlOpen ? [] : [{ name: "kysely", importNames: ["sql"], message: SQL_MESSAGE }]),
  ];
  const rule: ["error", { paths: typeof paths; patterns: typeof patterns }] = ["error", { paths, patterns }];
  return rule;
}

const NO_SQL_METHODS: ["error", ...{ property: string; message: string }[]] = [
  "error",
  ...SQL_METHODS.map((property) => ({ property, message: SQL_MESSAGE })),
];

export default defineConfig({
  plugins: ["typescript", "import", "node", "unicorn", "oxc", "promise", "vitest"],
  options: { typeAware: true },
  categories: { correctness: "error", suspicious: "error" },
  ignorePatterns: ["factory/sample-project/**"],
  rules: {
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-unassigned-import": "off",
    "max-lines": ["error", { max: MAX_LINES, skipBlankLines: true, skipComments: true }],
    "max-lines-per-function": ["error", { max: MAX_FUNCTION_LINES, skipBlankLines: true, skipComments: true }],
    "max-params": ["error", { max: MAX_PARAMETERS }],
    "no-underscore-dangle": "off",
    "oxc/no-barrel-file": "error",
    "no-await-in-loop": "off",
    "no-shadow": "off",
    "typescript/consistent-type-imports": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-namespace": "error",
    "typescript/consistent-return": "off",
    "typescript/no-unnecessary-boolean-literal-compare": "off",
    "typescript/no-unsafe-type-assertion": "off",
    // Ports are plain objects of functions: none uses `this`.
    "typescript/unbound-method": "off",
    // D8 names a key `then`.
    "unicorn/no-thenable": "off",
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "unicorn/consistent-function-scoping": "off",
    "unicorn/no-array-sort": "off",
    // Conditional spreads (`...(x === undefined ? {} : { x })`) are how exact optional fields are left out.
    "unicorn/no-useless-spread": "off",
    "typescript/no-unnecessary-template-expression": "off",
    "vitest/valid-title": "off",
    // Tests on both bases get their `test` as a parameter.
    "vitest/no-standalone-expect": "off",
    "promise/always-return": "off",
  },
  overrides: [
    {
      files: [FACTORY],
      rules: {
        "node/no-process-env": "error",
        "no-restricted-imports": restrictImports({}),
        "no-restricted-properties": NO_SQL_METHODS,
        "no-console": "error",
      },
    },
    ...BOUNDARIES.map(({ name, doors }) => ({
      files: [...doors],
      rules: { "no-restricted-imports": restrictImports({ open: [name] }) },
    })),
    {
      files: [...SQL_DOORS],
      rules: {
        "no-restricted-imports": restrictImports({ open: ["database drivers"], isSqlOpen: true }),
        "no-restricted-properties": "off",
      },
    },
    { files: [WIRING], rules: { "no-restricted-imports": restrictImports({ isSliceOpen: true }) } },
    // A probe is one file by contract: it is loaded by its path, alone.
    { files: ["probes/**/*.ts"], rules: { "max-lines": "off" } },
    { files: [ENVIRONMENT_DOOR], rules: { "node/no-process-env": "off" } },
    {
      files: ["**/*.test.ts", "factory/test/**", "factory/bench/**"],
      rules: {
        "max-lines-per-function": "off",
        "max-lines": "off",
        "no-restricted-imports": "off",
        "no-restricted-properties": "off",
        "node/no-process-env": "off",
        "no-console": "off",
      },
    },
  ],
});
