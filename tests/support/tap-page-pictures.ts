import type { Browser } from 'playwright-core'
import { previews } from '../../src/daemon/pages/tap/preview.ts'
import type { PageSettings } from '../../src/daemon/pages/tap/settings.ts'

interface Phone {
  /** Of a sample. */
  state: string
  language?: PageSettings['language']
  scheme?: 'light' | 'dark'
  look?: { name?: string; color?: string; background?: string }
  /** Scrolled to this element, where the top of the page is not what the picture is about. */
  showing?: string
}

interface Picture {
  /** Of each phone, in CSS pixels. */
  height: number
  phones: readonly Phone[]
}

/** What docs and README show of the tap page: file names without their ending, and the phones on each, side by side. */
export const pictures: Readonly<Record<string, Picture>> = {
  'tap-page': {
    height: 950,
    phones: [
      { state: 'everything' },
      { state: 'claim-confirmed', scheme: 'dark' },
      { state: 'badge', look: { name: 'Harbour Run', color: '#ffd166', background: '#1b2a49' } },
    ],
  },
  'tap-page-two-taps': {
    height: 680,
    phones: [
      { state: 'two-taps', showing: 'h1' },
      { state: 'two-taps-waiting', showing: 'h1', language: 'de' },
      { state: 'two-taps-ready', showing: 'h1', scheme: 'dark' },
    ],
  },
  'tap-page-refusals': {
    height: 460,
    phones: [
      { state: 'replayed' },
      { state: 'too-many', scheme: 'dark' },
      { state: 'expired', language: 'de' },
    ],
  },
}

const now = new Date('2026-06-01T12:00:00Z')
const base = { nonce: 'picture', now, script: undefined, home: 'https://tap.example' }
const gateways = { ipfs: 'https://ipfs.io', arweave: 'https://arweave.net' }

function htmlOf({ state, language = 'en', look = {} }: Phone): string {
  const { name = 'Acme Outdoor', color = null, background = null } = look
  const own = { brand: { name, color, background, logoUrl: null } }
  const [found] = previews({ ...base, language, gateways }, own, state)
  if (!found) throw new Error(`There is no sample "${state}".`)
  return found.html
}

const width = 360
const gap = 20

/** @returns WebP */
export async function drawPicture(browser: Browser, { height, phones }: Picture): Promise<Buffer> {
  const shots: string[] = []
  for (const phone of phones) {
    const viewport = { width, height }
    const colorScheme = phone.scheme ?? 'light'
    const page = await browser.newPage({ viewport, colorScheme, deviceScaleFactor: 2 })
    await page.setContent(htmlOf(phone), { waitUntil: 'load' })
    const { showing } = phone
    if (showing)
      await page
        .locator(showing)
        .first()
        .evaluate((element) => element.scrollIntoView())
    if (showing) await page.evaluate('scrollBy(0, -24)')
    shots.push((await page.screenshot()).toString('base64'))
    await page.close()
  }
  const viewport = { width: phones.length * (width + gap) + gap, height: height + 2 * gap }
  const sheet = await browser.newPage({ viewport, deviceScaleFactor: 1.25 })
  const images = shots.map((shot) => `<img src="data:image/png;base64,${shot}">`).join('')
  await sheet.setContent(
    `<style>body{margin:0;display:flex;gap:${gap}px;padding:${gap}px;background:#e8e6e0}img{width:${width}px;height:${height}px;border-radius:26px;box-shadow:0 0 0 1px #0003}</style>${images}`,
    { waitUntil: 'load' },
  )
  const session = await sheet.context().newCDPSession(sheet)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 55 })
  await sheet.close()
  return Buffer.from(data, 'base64')
}
