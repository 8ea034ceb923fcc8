import type { Logger } from 'pino'
import { pageLanguages } from '../../values/page-languages.ts'
import type { Config } from '../config/config.ts'
import { type DueMail, mailGivenUp, mailLater, mailSent, mailsToSend } from '../domain/tap-page/mails.ts'
import { MailQueue } from '../mail/queue.ts'
import { createMailServer, type Mail, type MailServer } from '../mail/smtp.ts'
import { reservationMail } from '../pages/tap/mail.ts'
import type { SecretBox } from '../store/data-dir/secret-box.ts'
import type { Db } from '../store/database/database.ts'
import type { Election } from '../store/lease/leader-election.ts'
import { isMailTried } from '../store/reservations/mails.ts'
import type { Metrics } from './metrics.ts'

export interface Mailing {
  queue: MailQueue
  server: MailServer
}

/** @returns undefined if no mail server is configured */
export function mailService(deps: {
  config: Config
  db: Db
  box: SecretBox
  log: Logger
  metrics: Metrics
  election: Election
  clock: { now(): number; monotonic(): number }
  baseUrl(): string
}): Mailing | undefined {
  const { config, db, clock, election, log, metrics, baseUrl } = deps
  if (config.mail === undefined) return undefined
  const server = createMailServer(config.mail)
  const queue = new MailQueue({
    ...{ server, clock, election },
    tried: (outcome) => metrics.mails.inc({ outcome }),
    failed: (err) => log.error({ err }, 'mails could not be sent'),
    store: {
      due: async (_now, limit) =>
        (await mailsToSend(deps, limit)).map(({ mail, ...job }) => ({
          ...job,
          mail: mail && written(mail, baseUrl()),
        })),
      isTried: (id) => isMailTried(db.read, id),
      sent: (id) => mailSent(deps, id),
      later: (job, at, reason) => mailLater(deps, job, at, reason),
      giveUp: (id, reason) => {
        log.warn({ mail: id, reason }, 'a mail was given up')
        return mailGivenUp(deps, id, reason)
      },
    },
  })
  return { queue, server }
}

function written({ to, messageId, team, piece, ownWords, about, ...mail }: DueMail, baseUrl: string): Mail {
  const language = pageLanguages.find((one) => one === mail.language) ?? pageLanguages[0]
  const url = baseUrl.replace(/\/+$/, '')
  const shown =
    about.is === 'code' ? about : { is: about.is, until: about.until, url: `${url}/t/keep/${about.secret}` }
  const content = reservationMail({ language, piece, team, ownWords, about: shown })
  return { ...content, to, language, messageId: `${messageId}@${new URL(url).hostname}`, senderName: team }
}
