import { useEffect, useState } from 'preact/hooks'
import { httpsUrl } from '../../values/media-url.ts'

interface PictureProps {
  readonly url: string | null | undefined
  /** Its first letter stands where there is no picture. */
  readonly name?: string | undefined
  readonly size?: number
}

/** A picture of an item or token, which others host: https alone, and they do not learn where it is shown. */
export function Picture({ url, name, size = 32 }: PictureProps) {
  const [isBroken, setBroken] = useState(false)
  // Another picture may work.
  useEffect(() => setBroken(false), [url])
  const safe = url ? httpsUrl(url) : undefined
  if (safe === undefined || isBroken)
    return (
      <span
        class="picture"
        style={{ width: `${size}px`, height: `${size}px`, fontSize: `${size / 2}px` }}
        aria-hidden="true"
      >
        {[...(name ?? '')][0]?.toUpperCase()}
      </span>
    )
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
