import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'

/** A browser whose contexts are phones, with nothing in common between them. */
export async function openPhones() {
  const browser = await openBrowser()

  /** @returns a context of a phone's size; what its pages did wrong is collected in `complaints` */
  async function phone(options: BrowserContextOptions = {}) {
    const context: BrowserContext = await browser.newContext({
      viewport: { width: 390, height: 844 },
      deviceScaleFactor: 2,
      hasTouch: true,
      isMobile: true,
      locale: 'en-GB',
      serviceWorkers: 'block',
      ...options,
    })
    context.setDefaultTimeout(20_000)
    const complaints: string[] = []
    context.on('weberror', (error) => complaints.push(`error: ${error.error().message}`))
    context.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text())
    })
    context.on('dialog', (dialog) => {
      complaints.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    const open = async (url: string): Promise<Page> => {
      const page = await context.newPage()
      await page.goto(url, { waitUntil: 'domcontentloaded' })
      return page
    }
    return { context, complaints, open, close: () => context.close() }
  }
  return { phone, close: () => browser.close() }
}

export type Phones = Awaited<ReturnType<typeof openPhones>>
