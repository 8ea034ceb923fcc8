import { useEffect, useState } from 'preact/hooks'
import { httpsUrl } from '../../values/media-url.ts'

/** A picture of an item or token, which others host: https alone, and they do not learn where it is shown. */
export function Picture({
  url,
  size = 32,
}: {
  readonly url: string | null | undefined
  readonly size?: number
}) {
  const [isBroken, setBroken] = useState(false)
  // Another picture may work.
  useEffect(() => setBroken(false), [url])
  const safe = url ? httpsUrl(url) : undefined
  if (safe === undefined || isBroken)
    return <span class="picture" style={{ width: `${size}px`, height: `${size}px` }} aria-hidden="true" />
  return (
    <img
      class="picture"
      src={safe}
      alt=""
      width={size}
      height={size}
      loading="lazy"
      decoding="async"
      referrerPolicy="no-referrer"
      onError={() => setBroken(true)}
    />
  )
}
