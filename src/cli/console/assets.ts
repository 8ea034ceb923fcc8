import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CliError } from '../errors.ts'

export interface Asset {
  readonly type: string
  readonly content: Buffer
  readonly gzip: Buffer
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The page as the build made it. Names in `assets/` carry a hash of their content. */
export interface Page {
  readonly index: string
  /** By the path at which they are served. */
  readonly assets: ReadonlyMap<string, Asset>
  /** For pages of the server itself. */
  readonly stylesheet: string
}

/** @param dist the folder of the build @throws CliError if it is incomplete */
export function readPage(dist: string): Page {
  const folder = join(dist, 'console')
  try {
    const assets = new Map<string, Asset>()
    for (const name of readdirSync(join(folder, 'assets'))) {
      const type = types[name.split('.').at(-1) ?? '']
      if (type === undefined) continue
      const path = join(folder, 'assets', name)
      assets.set(`/assets/${name}`, {
        type,
        content: readFileSync(path),
        gzip: readFileSync(`${path}.gz`),
      })
    }
    const index = readFileSync(join(folder, 'index.html'), 'utf8')
    const stylesheet = [...assets.keys()].find((path) => path.endsWith('.css')) ?? ''
    return { index, assets, stylesheet }
  } catch (error) {
    throw new CliError('The page of the console is missing from this installation.', {
      advice: 'Install it again, or build it: npm run build',
      cause: error,
    })
  }
}
