import type { FastifyRequest } from 'fastify'

/**
 * True for browsers: their Accept prefers text/html to JSON. Programs that accept anything, or do not say, get JSON.
 */
export function prefersHtml({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { accept } = headers
  if (accept === undefined || !/text\//i.test(accept)) return false
  const ranges = accept.slice(0, 2000).toLowerCase().split(',')
  return qualityOf(ranges, 'text', 'html') > qualityOf(ranges, 'application', 'json')
}

/** RFC 9110, section 12.5.1: the most specific range counts. */
function qualityOf(ranges: readonly string[], type: string, subtype: string): number {
  const forms = ['*/*', `${type}/*`, `${type}/${subtype}`]
  let specificity = -1
  let quality = 0
  for (const range of ranges) {
    const [form = '', ...parameters] = range.split(';').map((part) => part.trim())
    const rank = forms.indexOf(form)
    if (rank < specificity || rank === -1) continue
    specificity = rank
    const [q = '1'] = parameters.flatMap((one) => /^q=([\d.]+)$/.exec(one)?.[1] ?? [])
    quality = Number(q) || 0
  }
  return quality
}
