import { mediaUrl } from '../../../values/media-url.ts'
import { checkRedirectUrl } from '../../../values/redirect-url.ts'
import { type PageSettings, pathOf } from './settings.ts'

/** A URL that the page may load: see `mediaUrl`; and pictures of the daemon's own, whichever way it is reached. */
export function mediaOf(
  url: string | undefined | null,
  { gateways, home }: Pick<PageSettings, 'gateways' | 'home'>,
): string | undefined {
  if (!url) return undefined
  if (url.startsWith(`${home}/`) && URL.canParse(url)) {
    const { origin, pathname, search } = new URL(url)
    // Without dots that lead elsewhere, and without two slashes at the beginning, which another host would follow.
    const isOurs = origin === new URL(home).origin && pathname.startsWith(pathOf({ home }, '/'))
    if (isOurs && !pathname.startsWith('//')) return pathname + search
  }
  return mediaUrl(url, gateways)
}

/** Checked when it was stored; once more here, where it is opened. */
export const linkUrl = (url: string): string | undefined =>
  checkRedirectUrl(url) === undefined ? url : undefined
