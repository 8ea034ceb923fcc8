import { expect } from 'vitest'
import type { TestMailServer } from './mail-server.ts'
import type { Browser } from './tap-browser.ts'

// What people do who keep a piece by e-mail.

export type TapPageAt = Awaited<ReturnType<Browser['tap']>>

export const sendForm = (browser: Browser, page: TapPageAt, fields: Record<string, string>) =>
  browser.post('/t/reserve', { ref: page.ref, tap: page.query, ...fields })

export const show = async (browser: Browser, page: TapPageAt) =>
  (await browser.load(page.parameters)).answer.body

export const digitsIn = (text: string) => /\b\d{6}\b/.exec(text)?.[0] ?? ''
export const pathIn = (text: string) => /\/t\/keep\/[A-Za-z0-9_-]{32}/.exec(text)?.[0] ?? ''

/** Keeps what a tap allows. @returns where the mailed link leads */
export async function keep(server: TestMailServer, browser: Browser, page: TapPageAt, email: string) {
  const before = server.mails().length
  expect((await sendForm(browser, page, { email })).statusCode).toBe(303)
  const code = digitsIn((await server.newest(before + 1)).text)
  expect((await sendForm(browser, page, { code })).statusCode).toBe(303)
  return pathIn((await server.newest(before + 2)).text)
}
