import { type Sample, samplePage, samples } from './samples.ts'
import type { PageSettings } from './settings.ts'

interface Preview extends Pick<Sample, 'state' | 'status'> {
  html: string
}

/** For pages saved to disk: no forms, no scripts, and nothing loaded except the team's media. Links open elsewhere. */
const policy = (nonce: string): string =>
  `default-src 'none'; style-src 'nonce-${nonce}'; img-src https: data:; media-src https:; form-action 'none'; base-uri 'none'`

const picture = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80"><defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="#8fb8a6"/><stop offset="1" stop-color="#2f5d50"/></linearGradient></defs><path fill="url(#g)" d="M0 0h80v80H0z"/><path fill="#f4efe4" d="M31 16h18l13 6 6 31-8 2-5-17v27H25V38l-5 17-8-2 6-31z"/><path fill="none" stroke="#2f5d50" d="M40 18v46M31 30h5m8 0h5"/></svg>',
)}`

/**
 * Renders the states of the page with sample data.
 * @param state only this state
 * @param overrides the team's values, which replace the samples'
 * @returns empty if there is no such state
 */
export function previews(
  settings: PageSettings,
  overrides: Parameters<typeof samplePage>[2],
  state?: string,
): Preview[] {
  return samples(settings.now)
    .filter((sample) => state === undefined || sample.state === state)
    .map((sample) => ({
      state: sample.state,
      status: sample.status,
      html: samplePage(sample, { ...settings, script: undefined }, overrides)
        .body.replace(
          '<meta charset="utf-8">',
          `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy(settings.nonce)}">\n<base target="_blank">`,
        )
        // It is the daemon's, which a file cannot ask.
        .replace(/<link rel="icon"[^>]*>\n/, '')
        // The samples' media do not exist.
        .replace(/https:\/\/media\.example\/[\w-]+\.(webp|png)/g, picture),
    }))
}
