import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * The exports of a TypeScript file.
 * @param dir a folder for what is built
 * @param file in bench, without its ending: `peers/field`
 * @param define more of what is known when it is bundled
 */
export async function bundled(dir, file, define = {}) {
  const name = basename(file)
  const outfile = join(dir, `${name}.cjs`)
  await build({
    entryPoints: [fileURLToPath(new URL(`../${file}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
    external: ['better-sqlite3', 'tiny-secp256k1', '@foundry-rs/*'],
    define: {
      'import.meta.url': JSON.stringify(import.meta.url),
      __TAPCHIP_VERSION__: '"bench"',
      __TAPCHIP_COMMIT__: '""',
      ...define,
    },
  })
  // Packages are found from here, not from the temporary directory.
  const here = createRequire(import.meta.url)
  const { Module } = here('node:module')
  const loaded = new Module(outfile)
  loaded.paths = Module._nodeModulePaths(fileURLToPath(new URL('.', import.meta.url)))
  loaded.filename = fileURLToPath(new URL(`./${name}.cjs`, import.meta.url))
  loaded._compile(readFileSync(outfile, 'utf8'), loaded.filename)
  return loaded.exports
}
