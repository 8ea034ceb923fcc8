// Bundles the two executables, the programs that run beside them, the client for apps, the tap page's script, and the console's page.
// One file each: a start that resolves a hundred modules costs twice as much.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import Module from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildClient } from './client.mjs'
import { buildConsole } from './console.mjs'
import { writeHelp } from './help.mjs'
import { licensesOf } from './licenses.mjs'
import { chooseSqliteDriver } from './sqlite-driver.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
/** Empty where this is no clone, or there is no git: a package from elsewhere has its version alone. */
const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim() ?? ''
// A clone of something else may lie around an unpacked copy of this.
const commit = git('rev-parse', '--show-cdup') === '' ? git('rev-parse', '--short=12', 'HEAD') : ''

// All of it: V8 knows a stale cache by the length of its source alone.
rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
chooseSqliteDriver()
/** Few commands ask questions, one draws labels, and few daemons have a server or send mail: what that takes are files of their own. */
const apart = {
  inquirer: 'prompts.cjs',
  './libraries.ts': 'labels.cjs',
  pg: 'postgres.cjs',
  nodemailer: 'mail.cjs',
}
const keptApart = {
  name: 'kept apart',
  setup({ onLoad, onResolve }) {
    // For subcommands that are programs of their own, which we have none of: it delays each command.
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /[\\/]commander[\\/]/.test(importer) ? { path: 'nothing', namespace: 'nothing' } : undefined,
    )
    onLoad({ filter: /^/, namespace: 'nothing' }, () => ({ contents: '' }))
    // A bundle requires as the launcher in bin/ does.
    onResolve({ filter: /^(inquirer|pg|nodemailer|\.\/libraries\.ts)$/ }, ({ path }) => ({
      path: `../dist/${apart[path]}`,
      external: true,
    }))
  },
}
const options = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  logLevel: 'warning',
  metafile: true,
  sourcemap: 'linked',
  sourcesContent: false,
  minifySyntax: true,
  minifyWhitespace: true,
  // Code from a cache cannot import dynamically; Node requires ES modules since 20.19.
  supported: { 'dynamic-import': false },
  define: {
    __TAPCHIP_VERSION__: JSON.stringify(version),
    __TAPCHIP_COMMIT__: JSON.stringify(commit),
    // What is a URL in a module is a path in a bundle; `createRequire` takes either.
    'import.meta.url': '__filename',
  },
  external: [
    // Native code and WebAssembly.
    ...['better-sqlite3', 'tiny-secp256k1', 'nfc-pcsc', '@pcsc-mini/*'],
    // Never loaded: see `noSchemas` of the daemon. A tenth of its bundle.
    ...['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
  ],
  plugins: [keptApart],
}
const bundle = (entryPoint, outfile, more = {}) => {
  const isApart = Object.values(apart).includes(outfile.slice('dist/'.length))
  return build({
    ...options,
    entryPoints: [entryPoint],
    outfile,
    plugins: isApart ? [] : options.plugins,
    ...more,
  })
}
/** What launch.cjs runs is a function. */
const launched = { banner: { js: Module.wrapper[0] }, footer: { js: Module.wrapper[1] } }

const bundled = await Promise.all([
  bundle('src/cli/main.ts', 'dist/tapchip.cjs', launched),
  bundle('src/daemon/process/main.ts', 'dist/tapchipd.cjs', launched),
  bundle('src/nfc/pcsc/host.ts', 'dist/reader-host.cjs'),
  ...['database-reader', 'checkpoint-thread'].map((program) =>
    bundle(`src/daemon/store/sqlite/${program}.ts`, `dist/${program}.cjs`),
  ),
  bundle('inquirer', 'dist/prompts.cjs'),
  bundle('pg', 'dist/postgres.cjs'),
  bundle('nodemailer', 'dist/mail.cjs'),
  bundle('src/cli/labels/libraries.ts', 'dist/labels.cjs', {
    // In its module for `import`, `import.meta.url` has to be a URL.
    alias: { pdfkit: './node_modules/pdfkit/js/pdfkit.js' },
  }),
  // pdfkit requires its fonts by a name that package.json maps to this folder.
  ...['Helvetica', 'HelveticaBold'].map((font) =>
    bundle(`node_modules/pdfkit/js/standard-fonts/${font}.cjs`, `dist/standard-fonts/${font}.cjs`),
  ),
  buildClient(),
  buildConsole(),
  build({
    entryPoints: ['src/tap-page/main.ts'],
    outfile: 'dist/tap-page/page.js',
    bundle: true,
    platform: 'browser',
    target: 'es2020',
    format: 'iife',
    logLevel: 'warning',
    minify: true,
  }),
])
// The page at /docs: what of the package is served.
mkdirSync('dist/swagger-ui')
for (const folder of [
  'dist/standard-fonts',
  'dist/swagger-ui',
  'dist/tap-page',
  'dist/console',
  'dist/console/assets',
])
  chmodSync(folder, 0o755)
for (const file of [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'LICENSE',
  'NOTICE',
  'swagger-ui-bundle.js.LICENSE.txt',
])
  copyFileSync(`node_modules/swagger-ui-dist/${file}`, `dist/swagger-ui/${file}`)
writeFileSync('dist/THIRD-PARTY-LICENSES', licensesOf(bundled.flatMap((one) => one?.metafile ?? [])))
copyFileSync('build/launch.cjs', 'dist/launch.cjs')

/** Runs an executable so that its compiled code can be kept. One that serves is ended when it says that it is ready. */
async function cacheCode(name, args) {
  const child = spawn(process.execPath, ['build/cache-code.cjs', name, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const impatient = setTimeout(() => child.kill('SIGKILL'), 20_000)
  child.stdout.once('data', () => child.kill('SIGTERM'))
  const [code] = await once(child, 'exit')
  clearTimeout(impatient)
  // It starts without as well, only slower: no reason to fail an installation where nothing may listen, say.
  if (code !== 0)
    console.warn(`${name} starts without compiled code kept: it could not be run once after it was built`)
}
await Promise.all([
  writeHelp(options),
  cacheCode('tapchip', ['refs', 'show', 'x', '--url', 'http://127.0.0.1:1']),
  cacheCode('tapchipd', ['--ephemeral', '--port', '0', '--log-level', 'silent']),
])
// Whatever the umask here: a service's user must be able to read all of it.
for (const file of readdirSync('dist', { recursive: true, withFileTypes: true }))
  if (file.isFile()) chmodSync(join(file.parentPath, file.name), 0o644)
