// Redirect URLs are never parsed and serialized, since a URL library would change bytes (%20 to +, for example) that the
// other side may have signed or compares.

const bannedSchemes = new Set([
  ...'javascript data file blob vbscript about view-source filesystem feed jar mhtml'.split(' '),
  // Protocols and operating system handlers, which lead to neither a website nor an app.
  ...'ftp ftps sftp ws wss gopher ldap smb telnet ms-msdt search-ms resource chrome'.split(' '),
])

const maxLength = 4096

/** @returns the reason for a rejection, which can follow a field's name */
export function checkRedirectUrl(url: string): string | undefined {
  if (url.length > maxLength) return `must be at most ${maxLength} characters`
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase()
  if (hasSpaceOrControl(url)) return 'must not contain spaces or control characters'
  if (!scheme) return 'must be a complete URL with its scheme, such as https://example.com/tap'
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

/** URL punctuation as written in a plain URL. */
const plain = {
  question: /\?/,
  hash: /#/,
  ampersand: /&/,
  equals: /=/,
  write: { question: '?', ampersand: '&', equals: '=' },
}

type Punctuation = typeof plain

/** URL punctuation as written inside another URL's parameter. */
const encoded: Punctuation = {
  question: /\?|%3F/i,
  hash: /#|%23/i,
  ampersand: /%26/i,
  equals: /=|%3D/i,
  write: { question: '%3F', ampersand: '%26', equals: '%3D' },
}

/**
 * Adds the ref as a query parameter before any fragment, replacing an older one. In a wallet deeplink (a URL with
 * `cb_url`) it is added to the inner URL. All other bytes stay unchanged.
 */
export const withRef = (url: string, parameter: string, ref: string): string => setRef(url, parameter, ref)

/** Removes an older ref, where `withRef` would replace it. All other bytes stay unchanged. */
export const withoutRef = (url: string, parameter: string): string => setRef(url, parameter, undefined)

function setRef(url: string, parameter: string, ref: string | undefined): string {
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

function withParameter(url: string, parameter: string, ref: string | undefined, marks: Punctuation): string {
  const { start, text, end } = query(url, marks)
  const pair = ref === undefined ? '' : `${parameter}${marks.write.equals}${ref}`
  if (text === undefined && ref === undefined) return url
  if (text === undefined) return `${start}${marks.write.question}${pair}${end}`
  const mark = marks.question.exec(url)?.[0] ?? marks.write.question
  const others = text
    .split(marks.ampersand)
    .filter((segment) => nameAndValue(segment, marks)[0] !== parameter)
  // Without an older ref to replace, the query stays unchanged, including empty segments.
  const kept =
    others.length === text.split(marks.ampersand).length ? text : others.join(marks.write.ampersand)
  if (ref === undefined) return kept === text ? url : `${start}${kept && mark}${kept}${end}`
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
