import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { encodingOf } from '../http/accept-encoding.ts'
import { faviconPath } from '../pages/tap/settings.ts'

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

const scripts = new Map<'br' | 'gzip', Buffer>()

/** Compressed when first asked for, so that no start waits for it. */
function scriptIn(encoding: 'br' | 'gzip', text: Buffer): Buffer {
  const known = scripts.get(encoding) ?? (encoding === 'br' ? brotliCompressSync : gzipSync)(text)
  scripts.set(encoding, known)
  return known
}

/** The path of the tap page's script below the base URL; undefined if it was not built. */
export const tapPageScript: string | undefined = script?.path

/** A chip's waves, 64 by 64 pixels. */
const favicon = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABABAMAAABYR2ztAAAAMFBMVEULa08ugGhRlYF0qpqWwLS51c3c6ub///8La08La08La08La08La08La08La08La08TUz96AAAAEHRSTlP//////////wAgQGCAn7/fvrfCmAAAAY9JREFUeNqVlr1Ow0AMxx0CQQJBMyBl7da1W2YkpK6ZyAoDyko/Er9C1EqwssHIBmM33gDxCH0Aho7QpdzlriTk7uxgKUqU+6V/2+ezC6Ww+fsWDNt+Pss1ENdiDVbrLRXgWleEAN7AaRsJLICwpQAeKWAjgDUF9EogFYQG3NPAF7zSwDF8mC/PzuvnE1iZQFaEv8+nYAbhI17VYVhkBTAjAcgQh6TnEeKEBPYQCzr4EadxgHhrX/EuVAaacfyxAK93GqEViLV3hy4nYsRE3vf13SKhMuC5vPR2GchcqRpo8ZERhn95M1QZSBSYt347RczDWjxqJ1t8qb7V4iJOIz7EaS1uAKkE8oqc6XjDdo2oCLV3QrL/P4CVGEhgUjk5tQJsmJ4Ewqoc7YkyU104N6tv36yO280WDFtysS6DyFW0gT74aTsNrYPjqa13W9BsITZLmcPrc8dfxDAmgYxXaDYxaxtMGgDbSNlW/ET3syO448YBO1DKFTOS6KH23WUsli/MYC3n7tH80G24038PfgAngrSbb8MTUgAAAABJRU5ErkJggg==',
  'base64',
)

/**
 * The icon, and the script of the tap page, under a name that changes with it, so that browsers keep it. They count
 * towards no limit: a hall of people behind one address load them at once.
 */
export function tapPageAssetRoutes(app: FastifyInstance): void {
  app.get(faviconPath, async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=604800')
      .header('x-content-type-options', 'nosniff')
      .type('image/png')
      .send(favicon),
  )
  if (!script) return
  app.get(`/${script.path}`, async (request, reply) => {
    const encoding = encodingOf(request, ['br', 'gzip'])
    if (encoding) reply.header('content-encoding', encoding)
    return reply
      .header('vary', 'accept-encoding')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .type('text/javascript; charset=utf-8')
      .send(encoding ? scriptIn(encoding, script.text) : script.text)
  })
}
