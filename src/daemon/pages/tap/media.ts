import { mediaUrl } from '../../../values/media-url.ts'
import { checkRedirectUrl } from '../../../values/redirect-url.ts'
import { type PageSettings, pathOf } from './settings.ts'

/**
 * URLs that the page may load, see `mediaUrl`, and the daemon's own pictures, under whatever address the page was
 * opened.
 */
export function mediaOf(
  url: string | undefined | null,
  { gateways, home }: Pick<PageSettings, 'gateways' | 'home'>,
): string | undefined {
  if (!url) return undefined
  if (url.startsWith(`${home}/`) && URL.canParse(url)) {
    const { origin, pathname, search } = new URL(url)
    // Refuses dots that lead elsewhere, and a leading `//`, which would lead to another host.
    const isOurs = origin === new URL(home).origin && pathname.startsWith(pathOf({ home }, '/'))
    if (isOurs && !pathname.startsWith('//')) return pathname + search
  }
  return mediaUrl(url, gateways)
}

/** Checked when stored, and once more here, before it is shown. */
export const linkUrl = (url: string): string | undefined =>
  checkRedirectUrl(url) === undefined ? url : undefined
