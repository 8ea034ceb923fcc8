// Redirect URLs: which are taken, and how a ref goes into them. The text is never parsed and printed again,
// since an URL library would change bytes (%20 to +, say) that the other side may have signed or compares.

const bannedSchemes = new Set([
  ...[
    'javascript',
    'data',
    'file',
    'blob',
    'vbscript',
    'about',
    'view-source',
    'filesystem',
    'feed',
    'jar',
    'mhtml',
  ],
  // Neither the web nor an app: protocols, and handlers of an operating system.
  ...[
    'ftp',
    'ftps',
    'sftp',
    'ws',
    'wss',
    'gopher',
    'ldap',
    'smb',
    'telnet',
    'ms-msdt',
    'search-ms',
    'resource',
    'chrome',
  ],
])

const longest = 4096

/** Why a redirect URL is refused, said so that it can follow a field's name; undefined: it is good. */
export function checkRedirectUrl(url: string): string | undefined {
  if (url.length > longest) return `must be at most ${longest} characters`
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase()
  if (hasSpaceOrControl(url)) return 'must not contain spaces or control characters'
  if (!scheme) return 'must be a whole URL with its scheme, such as https://example.com/tap'
  if (bannedSchemes.has(scheme)) return `must not use the scheme ${scheme}:`
  if (/^[A-Za-z0-9+.-]+:[/\\]{2}[^/\\?#]*@/.test(url)) return 'must not carry credentials (user:password@)'
  if (scheme === 'http' || scheme === 'https') {
    const reason = checkWebUrl(url)
    if (reason) return reason
  }
  if (!isAscii(url)) return 'must be ASCII: write other characters percent-encoded'
  return checkCallback(url)
}

function hasSpaceOrControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 0x20 || code === 0x7f) return true
  }
  return false
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) return false
  return true
}

function checkWebUrl(url: string): string | undefined {
  if (!/^https?:\/\/[^/\\]/i.test(url)) return 'must begin with http:// or https:// and a host'
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    return 'is not a valid URL'
  }
  if (parsed.username !== '' || parsed.password !== '') return 'must not carry credentials (user:password@)'
  return undefined
}

function checkCallback(url: string): string | undefined {
  for (const segment of query(url, plain).segments) {
    const [name, value] = nameAndValue(segment, plain)
    if (name !== 'cb_url') continue
    const inner = decoded(value)
    if (inner === undefined || !/^https?:\/\//i.test(inner)) return 'has a cb_url that is not an http(s) URL'
    if (hasSpaceOrControl(inner) || checkWebUrl(inner)) return 'has a cb_url that is not a valid http(s) URL'
  }
  return undefined
}

/** How an URL's punctuation is written: as it is, or percent-encoded inside another URL's parameter. */
interface Punctuation {
  readonly question: RegExp
  readonly hash: RegExp
  readonly ampersand: RegExp
  readonly equals: RegExp
  readonly write: { question: string; ampersand: string; equals: string }
}

const plain: Punctuation = {
  question: /\?/,
  hash: /#/,
  ampersand: /&/,
  equals: /=/,
  write: { question: '?', ampersand: '&', equals: '=' },
}

const encoded: Punctuation = {
  question: /\?|%3F/i,
  hash: /#|%23/i,
  ampersand: /%26/i,
  equals: /=|%3D/i,
  write: { question: '%3F', ampersand: '%26', equals: '%3D' },
}

/**
 * The URL with the ref in it: as the query parameter `parameter`, before any fragment, in place of an older
 * one. A wallet deeplink (an URL with `cb_url`) gets it inside that URL. All other bytes stay as they are.
 */
export function withRef(url: string, parameter: string, ref: string): string {
  const { start, segments, end } = query(url, plain)
  const at = segments.findIndex((segment) => nameAndValue(segment, plain)[0] === 'cb_url')
  if (at === -1) return withParameter(url, parameter, ref, plain)
  const inside = segments.map((segment, index) => {
    if (index !== at) return segment
    const [head, ...value] = segment.split('=')
    return `${head}=${withParameter(value.join('='), parameter, ref, encoded)}`
  })
  return `${start}?${inside.join('&')}${end}`
}

function withParameter(url: string, parameter: string, ref: string, marks: Punctuation): string {
  const { start, text, end } = query(url, marks)
  const pair = `${parameter}${marks.write.equals}${ref}`
  if (text === undefined) return `${start}${marks.write.question}${pair}${end}`
  const mark = marks.question.exec(url)?.[0] ?? marks.write.question
  const others = text
    .split(marks.ampersand)
    .filter((segment) => nameAndValue(segment, marks)[0] !== parameter)
  // Only an older ref makes the text differ; without one the query stays to the byte, empty segments included.
  const kept =
    others.length === text.split(marks.ampersand).length ? text : others.join(marks.write.ampersand)
  const glue =
    kept === '' || new RegExp(`(${marks.ampersand.source})$`, 'i').test(kept) ? '' : marks.write.ampersand
  return `${start}${mark}${kept}${glue}${pair}${end}`
}

function query(url: string, marks: Punctuation) {
  const hashAt = url.search(marks.hash)
  const body = hashAt === -1 ? url : url.slice(0, hashAt)
  const end = hashAt === -1 ? '' : url.slice(hashAt)
  const mark = marks.question.exec(body)
  if (!mark) return { start: body, text: undefined, segments: [], end }
  const text = body.slice(mark.index + mark[0].length)
  return { start: body.slice(0, mark.index), text, segments: text.split(marks.ampersand), end }
}

function nameAndValue(segment: string, marks: Punctuation): [string, string] {
  const mark = marks.equals.exec(segment)
  if (!mark) return [decoded(segment) ?? segment, '']
  const name = segment.slice(0, mark.index)
  return [decoded(name) ?? name, segment.slice(mark.index + mark[0].length)]
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
