/** Gateways for IPFS and Arweave: https URLs without a trailing slash. */
export interface Gateways {
  readonly ipfs: string
  readonly arweave: string
}

// A browser's limit in practice, and far more than any address of a picture.
const maxLength = 2048

/**
 * The https address at which a page may show a picture or a video of somebody else's: https as it is, IPFS and Arweave
 * through their gateways.
 * @returns undefined for anything else, such as javascript:, data:, http:, relative addresses, or credentials
 */
export function mediaUrl(url: string, gateways: Gateways): string | undefined {
  const text = url.trim()
  if (text.length > maxLength) return undefined
  const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.+)$/is.exec(text) ?? []
  switch (scheme.toLowerCase()) {
    case 'https':
      return httpsUrl(text)
    case 'ipfs':
      return through(`${gateways.ipfs}/ipfs`, rest.replace(/^ipfs\//i, ''), /^[A-Za-z0-9]{46,128}$/)
    case 'ar':
      return through(gateways.arweave, rest, /^[A-Za-z0-9_-]{43}$/)
    default:
      return undefined
  }
}

/** @param root what the first segment of the path must look like: the content's own id, and not an address */
function through(gateway: string, path: string, root: RegExp): string | undefined {
  const [id = ''] = path.split(/[/?#]/)
  if (!root.test(id)) return undefined
  const url = httpsUrl(`${gateway}/${path}`)
  // `..` would lead out of the gateway's folder.
  return url?.startsWith(`${new URL(gateway).href.replace(/\/$/, '')}/${id}`) ? url : undefined
}

/** @returns the URL, if it is https, has a host, and carries no credentials */
export function httpsUrl(text: string): string | undefined {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return undefined
  }
  const isPlain = url.username === '' && url.password === '' && url.hostname !== ''
  return url.protocol === 'https:' && isPlain ? url.href : undefined
}
