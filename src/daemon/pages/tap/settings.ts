import type { Gateways } from '../../../values/media-url.ts'
import type { PageLanguage } from '../../../values/page-languages.ts'

/** Inputs of a page besides its content. */
export interface PageSettings {
  language: PageLanguage
  /** The team's own texts, as stored. */
  ownWords?: string | null | undefined
  /** Nonce of this response, also in its Content-Security-Policy; empty: see keptPagePolicy. */
  nonce: string
  now: Date
  gateways: Gateways
  /** The script's path below the base URL, as `tapPageScript()` gives it; undefined: the page works without. */
  script: string | undefined
  /** Shows this one to every device, for previews. */
  scheme?: 'light' | 'dark' | undefined
  /** The daemon's base URL, without a trailing slash. */
  home: string
}

/** Also where browsers look for it without being told. */
export const faviconPath = '/favicon.ico'

export interface Page {
  /** Seconds after which a browser asks for it again by itself. */
  reloadsAfter?: number
  body: string
  /** Its parts: what precedes the look, the look, and what follows it. */
  parts: readonly [start: string, look: Look, rest: string]
}

/** The same on all pages of a team, so that it is encoded and compressed once. */
export interface Look {
  /** The style, and what follows it in the head of a page. */
  text: string
  /** The text in UTF-8. */
  bytes: Buffer
  /** The style's, as in a Content-Security-Policy. */
  styleHash: string
}

/** Lets the page load pictures and videos over https, its one script and style, and nothing else. */
export const contentSecurityPolicy = (nonce: string): string =>
  policyOf({ script: `'nonce-${nonce}'`, style: `'nonce-${nonce}'` })

/** The same for a page that is kept, so that no nonce of it would be secret. */
export const keptPagePolicy = (styleHash: string): string =>
  policyOf({ script: "'self'", style: `'${styleHash}'` })

const policyOf = ({ script, style }: { script: string; style: string }): string =>
  [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src ${style}`,
    "img-src https: 'self'",
    'media-src https:',
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** An address of the daemon as a path, because the page may have been opened under another host name. */
export function pathOf({ home }: Pick<PageSettings, 'home'>, rest: string): string {
  // A page has several, and parsing a URL takes as long as writing many of its lines.
  if (home !== base.home) base = { home, path: new URL(home).pathname.replace(/\/+$/, '') }
  return base.path + rest
}
let base = { home: '', path: '' }
