import { useEffect, useRef, useState } from 'preact/hooks'

/** A value that changes often, as it is every `everyMs`, for what takes long to draw. */
export function useSampled<T>(value: T, everyMs: number): T {
  const latest = useRef(value)
  latest.current = value
  const [sampled, setSampled] = useState(value)
  useEffect(() => {
    const timer = setInterval(() => setSampled(latest.current), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return sampled
}
