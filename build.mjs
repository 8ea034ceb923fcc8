// Bundles the two executables. One file each: a start that resolves a hundred modules costs twice as much.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { build } from 'esbuild'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  logLevel: 'warning',
  sourcemap: 'linked',
  sourcesContent: false,
  keepNames: false,
  minifySyntax: true,
  minifyWhitespace: true,
  define: { __TAPCHIP_VERSION__: JSON.stringify(version) },
  // Native code, and packages that only some commands load.
  external: ['better-sqlite3', 'nfc-pcsc', 'inquirer'],
}
await Promise.all([
  build({ ...common, entryPoints: ['src/cli/main.ts'], outfile: 'dist/tapchip.cjs' }),
  build({ ...common, entryPoints: ['src/daemon/main.ts'], outfile: 'dist/tapchipd.cjs' }),
])
