/** Videos begin by themselves only where motion is welcome, and data is not scarce. They have controls anyway. */
export function playVideos(): void {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)')
  const { connection } = navigator as { connection?: { saveData?: boolean } }
  const settle = () => {
    for (const video of document.querySelectorAll<HTMLVideoElement>('.hero video'))
      if (isCalm.matches || connection?.saveData) video.pause()
      // A browser that wants a press first shows the poster and the controls.
      else video.play().catch(() => undefined)
  }
  isCalm.addEventListener('change', settle)
  settle()
}
