import { type HaloParams, haloParameters, isHaloTap } from './tap.ts'

/** The parameters of a HaLo tag's URL, for parseHaloTap; undefined when the URL is another's. */
export function haloUrlParameters(url: string): HaloParams | undefined {
  const at = url.indexOf('?')
  if (at < 0) return undefined
  const query = new URLSearchParams(url.slice(at + 1).split('#', 1)[0])
  const params: HaloParams = Object.fromEntries(
    haloParameters.map((name) => [name, query.get(name) ?? undefined]),
  )
  return isHaloTap(params) ? params : undefined
}
