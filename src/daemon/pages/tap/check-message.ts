import type { Action, ActionKind } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import type { PageSettings } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { dateAndTime, duration, widestDate } from './times.ts'

/** A name takes at most one line of its own. */
export const longName = html`&#10;0&#10;(0x0000…0000)`

type CheckedKind = ActionKind | 'mint' | 'collect' | 'collectClaim'

/** What a press of the button does with what is typed. @param kind `register` is for a registration that is valid already */
export function checkMessage(kind: CheckedKind, { check, buttons }: Strings, to: Html): Html {
  if (kind === 'register') return check.registerOpen({ to })
  const button = kind === 'mint' ? 'claim' : kind === 'collectClaim' ? 'collect' : kind
  return check[kind]({ button: buttons[button], to })
}

type Wait = { openAt: string } | { seconds: number }

/** A registration of the same wallet keeps its time, any other begins anew. */
export function registerMessage(wait: Wait, settings: PageSettings, to: Html): Html {
  const strings = stringsOf(settings)
  const { check, buttons } = strings
  const button = buttons.register
  if ('seconds' in wait) return check.register({ button, to, wait: duration(wait.seconds, strings) })
  if (Date.parse(wait.openAt) <= settings.now.getTime()) return check.registerOpen({ to })
  return check.registerKept({ button, to, date: dateAndTime(wait.openAt, settings) })
}

/** Takes at least as much room as any other of the action's. */
export function longestCheckMessage({ kind, waitSeconds = 0 }: Action, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  if (kind !== 'register') return checkMessage(kind, strings, longName)
  const { check, buttons } = strings
  const button = buttons.register
  const texts = [
    check.register({ button, to: longName, wait: duration(waitSeconds, strings) }),
    check.registerKept({ button, to: longName, date: html`${widestDate(settings)}` }),
  ]
  return texts.reduce((longest, text) => (text.text.length > longest.text.length ? text : longest))
}
