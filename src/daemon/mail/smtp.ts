import type { Transporter } from 'nodemailer'

/** See MailConfig. */
interface Server {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  readonly isLocal: boolean
  readonly auth: { readonly user: string; readonly pass: string } | undefined
  readonly from: { readonly name: string; readonly address: string }
}

export interface Mail {
  to: string
  subject: string
  text: string
  html: string
  language: string
  /** Without its brackets. */
  messageId: string
  /** Of the sender, in place of the configured one. */
  senderName: string | undefined
}

export type SendResult =
  | { kind: 'sent' }
  /** `scope` is `server` if no mail can be sent for now. Reasons contain neither address nor password. */
  | { kind: 'retry'; scope: 'mail' | 'server'; reason: string }
  /** Trying again does not help. */
  | { kind: 'refused'; reason: string }

export interface MailServer {
  send(mail: Mail): Promise<SendResult>
  /** Connects and signs in, for `tapchip doctor`. @returns why it does not work */
  check(): Promise<string | undefined>
}

/** Over the whole exchange, however slowly the server answers. */
const deadlineMs = 30_000
const stepMs = 10_000

export function createMailServer(
  server: Server,
  { withinMs = deadlineMs }: { withinMs?: number } = {},
): MailServer {
  // In a file of its own (see build/build.mjs), and a connection for each mail: there are few.
  const open = async (): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    const { host, port, isSecure, isLocal, auth } = server
    return createTransport({
      ...{ host, port, secure: isSecure, auth, disableFileAccess: true, disableUrlAccess: true },
      // A password never goes over a network in the clear, and certificates are always verified.
      requireTLS: !isSecure && !isLocal && auth !== undefined,
      ignoreTLS: isLocal && !isSecure,
      connectionTimeout: Math.min(stepMs, withinMs),
      greetingTimeout: Math.min(stepMs, withinMs),
      dnsTimeout: Math.min(stepMs, withinMs),
      socketTimeout: withinMs,
    })
  }
  async function within<T>(job: (transport: Transporter) => Promise<T>, ms = withinMs): Promise<T> {
    const transport = await open()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms)
    })
    try {
      return await Promise.race([job(transport), late])
    } finally {
      clearTimeout(timer)
      transport.close()
    }
  }
  return {
    async send({ to, messageId, senderName, language, ...content }) {
      const { name, address } = server.from
      try {
        await within((transport) =>
          transport.sendMail({
            ...content,
            from: { name: senderName ?? name, address },
            to: { name: '', address: to },
            messageId: `<${messageId}>`,
            headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': language },
          }),
        )
        return { kind: 'sent' }
      } catch (error) {
        return judge(error)
      }
    },
    async check() {
      try {
        await within((transport) => transport.verify(), Math.min(stepMs, withinMs))
        return undefined
      } catch (error) {
        return judge(error).reason
      }
    },
  }
}

/** A failure, as nodemailer describes it. */
interface SmtpError {
  code?: unknown
  responseCode?: unknown
  command?: unknown
}

function judge(error: unknown): Exclude<SendResult, { kind: 'sent' }> {
  const { code, responseCode, command }: SmtpError = Object(error)
  const step = typeof command === 'string' && /^[A-Z ]{2,20}$/.test(command) ? ` to ${command}` : ''
  // The server's own words may repeat the address.
  const reason =
    typeof responseCode === 'number'
      ? `the mail server answered ${responseCode}${step}`
      : `the mail server could not be used (${typeof code === 'string' ? code : 'no answer in time'})`
  if (code === 'EENVELOPE' && typeof responseCode !== 'number') return { kind: 'refused', reason }
  if (code === 'EAUTH')
    return { kind: 'retry', scope: 'server', reason: `${reason}: check user and password` }
  // Turned away before any mail was named.
  const isUnnamed = typeof responseCode !== 'number' || code === 'EPROTOCOL'
  if (isUnnamed) return { kind: 'retry', scope: 'server', reason }
  if (responseCode >= 500) return { kind: 'refused', reason }
  return { kind: 'retry', scope: 'mail', reason }
}
