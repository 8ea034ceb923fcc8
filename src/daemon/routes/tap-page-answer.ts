import type { FastifyReply } from 'fastify'
import { nanoid } from 'nanoid'
import { contentSecurityPolicy, type Page, type PageSettings } from '../pages/tap/settings.ts'
import { chooseLanguage } from '../pages/tap/strings/strings.ts'
import type { Context } from '../process/context.ts'
import { tapPageScript } from './tap-page-assets.ts'

/** @param acceptLanguage the header of the request */
export const pageSettings = (ctx: Context, acceptLanguage: string | undefined): PageSettings => ({
  language: chooseLanguage(acceptLanguage),
  nonce: nanoid(),
  now: new Date(ctx.clock.now()),
  gateways: ctx.config.gateways,
  script: tapPageScript,
  home: ctx.baseUrl.replace(/\/+$/, ''),
})

/** For every response below /t, since its URL and content belong to one person. */
export const privateHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
} as const

export const pageHeaders = ({ nonce, language }: PageSettings): Record<string, string> => ({
  ...privateHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-language': language,
  'content-security-policy': contentSecurityPolicy(nonce),
})

/** @param settings that the page was made with: its nonce is in the policy */
export const sendPage = (
  reply: FastifyReply,
  status: number,
  page: Page,
  settings: PageSettings,
): FastifyReply => reply.code(status).headers(pageHeaders(settings)).send(page.body)
