import * as z from 'zod'
import { ConfigProblem } from './problem.ts'

export interface MailConfig {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; otherwise by STARTTLS where the server offers it. */
  readonly isSecure: boolean
  /** The server is this machine: there is no network to protect. */
  readonly isLocal: boolean
  readonly auth: { readonly user: string; readonly pass: string } | undefined
  /** An address, with or without a name. */
  readonly from: { readonly name: string; readonly address: string }
}

const message =
  'must be smtp://USER:PASSWORD@HOST:PORT or smtps://…; user and password may be left out, and %, /, ?, #, and @ in them are written as %25, %2F, %3F, %23, and %40'
const sender = /^(?:([^<>\r\n"]{0,100}?)\s*<([^\s<>@]+@[^\s<>@]+)>|([^\s<>@]+@[^\s<>@]+))$/

export const mailSettings = {
  smtpUrl: z
    .string()
    .regex(/^smtps?:\/\/[^\s/?#]+\/?$/, message)
    .refine((url) => URL.canParse(url) && new URL(url).hostname !== '' && isDecodable(url), message)
    .optional(),
  smtpFrom: z
    .string()
    .regex(sender, 'must be an e-mail address, such as tags@acme.example or Acme <tags@acme.example>')
    .optional(),
}

/** A password with a percent sign of its own is the usual mistake. */
function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(url) !== ''
  } catch {
    return false
  }
}

/** Contains a password. */
export const mailSecrets = ['smtpUrl'] as const

type Settings = z.output<z.ZodObject<typeof mailSettings>>

/** @throws ConfigProblem */
export function mailFrom({ smtpUrl, smtpFrom }: Settings): MailConfig | undefined {
  if ((smtpUrl === undefined) !== (smtpFrom === undefined))
    throw new ConfigProblem(
      'smtpUrl (TAPCHIP_SMTP_URL) and smtpFrom (TAPCHIP_SMTP_FROM) belong together: set both.',
    )
  if (smtpUrl === undefined || smtpFrom === undefined) return undefined
  const url = new URL(smtpUrl)
  const isSecure = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const [, name = '', named, bare = ''] = sender.exec(smtpFrom) ?? []
  return {
    ...{ host, isSecure },
    port: url.port === '' ? (isSecure ? 465 : url.username === '' ? 25 : 587) : Number(url.port),
    isLocal: /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host),
    auth:
      url.username === ''
        ? undefined
        : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    from: { name: name.trim(), address: named ?? bare },
  }
}
