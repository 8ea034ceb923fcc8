// What ships, as a CycloneDX SBOM: the code in the bundles, and what is installed beside them. `npm sbom` knows the
// packages of the lock file, and the build which of those its bundles hold. Without times and addresses, so that it
// changes with the lock file alone. --check compares it with the one that is checked in.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const file = 'sbom.cdx.json'
/** Shipped, but in no bundle: files that the build copies, and the libraries of the contracts, compiled. */
const copied = ['swagger-ui-dist', '@openzeppelin/contracts']

/** By a file of the package, where its package.json says nothing. */
const unnamed = { 'png-js': [{ license: { id: 'MIT' } }] }

const npm = spawnSync(
  'npm',
  ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--workspaces=false'],
  { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, shell: process.platform === 'win32' },
)
if (npm.status !== 0) throw new Error(`npm sbom failed: ${npm.stderr}`)
const all = JSON.parse(npm.stdout)

// As build/licenses.mjs writes them: a line of dashes, then name, version and license.
const licenses = readFileSync('dist/THIRD-PARTY-LICENSES', 'utf8')
const bundled = new Set(
  [...licenses.matchAll(/^-{80}\n(\S+) (\S+)/gm)].map(([, name, version]) => `${name}@${version}`),
)
const isShipped = ({ name, version, properties }) =>
  bundled.has(`${name}@${version}`) ||
  copied.includes(name) ||
  !properties.some((property) => property.name === 'cdx:npm:package:development')

/** Bundled packages are development dependencies, which npm takes for optional. */
const scopeOf = ({ properties, scope }) =>
  properties.some((property) => property.name === 'cdx:npm:package:development') ? 'required' : scope
const components = new Map(
  all.components.filter(isShipped).map((component) => {
    const { 'bom-ref': ref, type, name, version, purl, hashes } = component
    const licenses = component.licenses ?? unnamed[name]
    if (!licenses) throw new Error(`${name} names no license: read its files, and add it to scripts/sbom.mjs`)
    return [ref, { 'bom-ref': ref, type, name, version, scope: scopeOf(component), purl, hashes, licenses }]
  }),
)
const missing = [...bundled].filter((one) => !components.has(one))
if (missing.length > 0) throw new Error(`The lock file has no ${missing.join(', ')}: run npm ci`)

const root = all.metadata.component
const { 'bom-ref': ref, type, version, purl, licenses: own } = root
const sbom = {
  $schema: all.$schema,
  bomFormat: all.bomFormat,
  specVersion: all.specVersion,
  version: 1,
  metadata: { component: { 'bom-ref': ref, type, name: 'tapchip', version, purl, licenses: own } },
  components: [...components.values()],
  dependencies: all.dependencies
    .filter(({ ref: of }) => of === ref || components.has(of))
    .map(({ ref: of, dependsOn }) => ({ ref: of, dependsOn: dependsOn.filter((on) => components.has(on)) })),
}
/** One package a line, so that a change shows as one. */
const lines = (list) => `[\n${list.map((one) => `    ${JSON.stringify(one)}`).join(',\n')}\n  ]`
const { components: _, dependencies: __, ...head } = sbom
const text = `${JSON.stringify(head, null, 2).slice(0, -2)},
  "components": ${lines(sbom.components)},
  "dependencies": ${lines(sbom.dependencies)}
}
`
if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (readFileSync(file, 'utf8') !== text) {
  console.error(`${file} is not what ships. Renew it: npm run build && npm run sbom`)
  process.exitCode = 1
}
