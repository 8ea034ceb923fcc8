// Compiles the contracts and writes their artifacts, which are committed: `node contracts/build.mjs`.
// `--check` writes nothing and exits 1 where the committed ones differ. CI runs it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const solc = require('solc')
const { keccak256 } = require('viem')

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)
/** Sources of a folder, and where the artifacts of their contracts go. */
const folders = [
  { sources: '.', artifacts: 'src/daemon/chain/artifacts' },
  { sources: 'test', artifacts: 'tests/contracts/artifacts' },
]

const sourcesIn = (folder) =>
  readdirSync(join(here, folder))
    .filter((file) => file.endsWith('.sol'))
    .sort()
    .map((file) => join(folder, file))

function compile(files) {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      files.map((file) => [file, { content: readFileSync(join(here, file), 'utf8') }]),
    ),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      // Without these the bytecode would depend on paths and comments.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: Object.fromEntries(
        files.map((file) => [file, { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] }]),
      ),
    },
  }
  const load = (path) => ({ contents: readFileSync(require.resolve(path), 'utf8') })
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: load }))
  if (output.errors?.length > 0) {
    throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  }
  return output.contracts
}

/** Contracts that are known by the code that stands at their address. None of them has an immutable. */
const known = new Set(['Phygital'])

/** What released versions deployed, oldest first: it is found on chains, and addresses that it will get are promised. */
const earlier = (name) =>
  readdirSync(join(here, 'earlier'))
    .filter((file) => file.startsWith(`${name}-`))
    .sort()
    .map((file) => JSON.parse(readFileSync(join(here, 'earlier', file), 'utf8')))

/** A value as TypeScript on one line; the types of parameters that only name a Solidity type go. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (value === null || typeof value !== 'object') {
    return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  }
  const members = Object.entries(value).filter(([key]) => key !== 'internalType')
  return `{ ${members.map(([key, member]) => `${key}: ${literal(member)}`).join(', ')} }`
}

function artifact(file, name, { abi, evm }) {
  const variable = name[0].toLowerCase() + name.slice(1)
  return [
    '// biome-ignore-all format: generated',
    `// Generated from contracts/${file} by contracts/build.mjs: change that, then run it.`,
    '',
    `export const ${variable}Abi = [`,
    ...abi.map((entry) => `  ${literal(entry)},`),
    '] as const',
    '',
    `export const ${variable}Bytecode =`,
    `  '0x${evm.bytecode.object}'`,
    '',
    ...(known.has(name)
      ? [
          '/** Hash of the deployed code. */',
          `export const ${variable}CodeHash = '${keccak256(`0x${evm.deployedBytecode.object}`)}'`,
          '',
          `export const earlier${name}s = [`,
          ...earlier(name).map((code) => `  ${literal(code)},`),
          '] as const',
          '',
        ]
      : []),
  ].join('\n')
}

const fileName = (name) => `${name.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}.ts`

const check = process.argv.includes('--check')
const contracts = compile(folders.flatMap(({ sources }) => sourcesIn(sources)))
const stale = []
for (const { sources, artifacts } of folders) {
  const wanted = new Map(
    sourcesIn(sources).flatMap((file) =>
      Object.entries(contracts[file]).map(([name, contract]) => [
        fileName(name),
        artifact(file, name, contract),
      ]),
    ),
  )
  const target = join(root, artifacts)
  mkdirSync(target, { recursive: true })
  const found = readdirSync(target)
  for (const name of new Set([...wanted.keys(), ...found])) {
    const text = wanted.get(name)
    const path = join(target, name)
    const same = found.includes(name) && readFileSync(path, 'utf8') === text
    if (same) continue
    if (check) stale.push(join(artifacts, name))
    else if (text === undefined) rmSync(path)
    else writeFileSync(path, text)
  }
}
if (stale.length > 0) {
  console.error(`These artifacts are not what the contracts compile to: ${stale.join(', ')}.`)
  console.error(`Rebuild and commit them: node ${relative(root, fileURLToPath(import.meta.url))}`)
  process.exitCode = 1
}
