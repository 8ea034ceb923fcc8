import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'

const near = createRequire(import.meta.url)

/** The build puts it beside the bundle. */
function readScript(): { text: Buffer; path: string } | undefined {
  try {
    const text = readFileSync(near.resolve('./tap-page/page.js'))
    const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16)
    return { text, path: `t/assets/page-${hash}.js` }
  } catch {
    // When run from source, there is no script; the page's forms work without it.
    return undefined
  }
}

const script = readScript()

/** The path of the tap page's script below the base URL; undefined if it was not built. */
export const tapPageScript: string | undefined = script?.path

/**
 * The script of the tap page, under a name that changes with it, so that browsers keep it. It counts towards no limit:
 * a hall of people behind one address load it at once.
 */
export function tapPageAssetRoutes(app: FastifyInstance): void {
  if (!script) return
  app.get(`/${script.path}`, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .type('text/javascript; charset=utf-8')
      .send(script.text),
  )
}
