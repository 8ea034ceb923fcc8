import { checkOf, forgetRefusal } from './cards.ts'
import { page, post } from './page.ts'
import { writeDates } from './times.ts'

const restMs = 350

export const fieldOf = (form: Element): HTMLInputElement | null =>
  form.querySelector<HTMLInputElement>('input[name=recipient]')

const edited = new WeakSet<HTMLInputElement>()

/**
 * Copies the recipient to untouched fields: most people collect everything at one address. Not for claims, which
 * cannot be undone.
 */
function spread(value: string): void {
  for (const field of page?.querySelectorAll<HTMLInputElement>('form[data-action] input[name=recipient]') ??
    [])
    if (field.value === '' && !edited.has(field) && field !== document.activeElement) field.value = value
}

/** Shows below each form how the daemon reads the input. It never prevents a form from being sent. */
export function checkRecipients(): void {
  const pending = new Map<Element, AbortController>()
  let typed = ''
  // A recipient that the daemon has accepted, or would accept; nothing else is copied.
  let good = ''
  let sent = ''
  const settle = () => {
    // Only badges can go to email addresses.
    if (typed === good && !typed.includes('@')) spread(typed)
  }
  let timer: ReturnType<typeof setTimeout> | undefined

  document.addEventListener('input', ({ target }) => {
    const form = formOf(target)
    if (!form) return
    edited.add(target as HTMLInputElement)
    forgetRefusal(form)
    // It is being changed, so it is no longer the person's choice.
    typed = ''
    clearTimeout(timer)
    timer = setTimeout(() => void check(form), restMs)
  })
  document.addEventListener('change', ({ target }) => {
    // What is ticked decides which recipients are good.
    if (target instanceof HTMLInputElement && target.name === 'choice' && target.form) void check(target.form)
    if (!formOf(target)) return
    typed = (target as HTMLInputElement).value.trim()
    settle()
  })
  // Cards that open later have fields too.
  document.addEventListener('tapchip:shown', () => {
    if (sent === typed && !page?.querySelector('input[aria-invalid=true]')) good = sent
    settle()
  })
  // The answer says more than a check could.
  document.addEventListener('submit', ({ target }) => {
    if (!(target instanceof HTMLFormElement)) return
    const line = checkOf(target)
    if (!line) return
    sent = fieldOf(target)?.value.trim() ?? ''
    clearTimeout(timer)
    pending.get(line)?.abort()
    showCheck(line, '', undefined)
  })

  async function check(form: HTMLFormElement): Promise<void> {
    const line = checkOf(form)
    const url = page?.dataset.checkAt
    if (!line || !url || !form.isConnected || form.getAttribute('aria-busy') === 'true') return
    pending.get(line)?.abort()
    const ended = new AbortController()
    pending.set(line, ended)
    const fields = [...new FormData(form)].map(([name, value]): [string, string] => [name, String(value)])
    const value = fieldOf(form)?.value.trim() ?? ''
    if (value === '') return showCheck(line, '', undefined)
    try {
      const answer = await post(url, fields, { signal: ended.signal })
      const body: unknown = await answer.json()
      if (!isCheck(body)) return
      showCheck(line, body.html, body.isGood)
      if (body.isGood) good = value
      settle()
    } catch {
      // Too late, or no connection: submitting will show it.
    }
  }
}

const formOf = (target: EventTarget | null): HTMLFormElement | null =>
  target instanceof HTMLInputElement && target.name === 'recipient'
    ? target.closest<HTMLFormElement>('form[data-action]')
    : null

const isCheck = (body: unknown): body is { html: string; isGood?: boolean } =>
  typeof body === 'object' && body !== null && typeof (body as { html?: unknown }).html === 'string'

function showCheck(line: HTMLElement, html: string, isGood: boolean | undefined): void {
  line.innerHTML = html
  writeDates(line)
  if (isGood === undefined) delete line.dataset.good
  else line.dataset.good = String(isGood)
}
