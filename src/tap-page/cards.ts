import { morph } from './morph.ts'
import { type Answer, page } from './page.ts'

const shown = new Map<string, string>()

/**
 * Brings the pieces of the page to where the daemon says that they are. @param isOfPress it answers a press: only that
 * answer knows why the press was refused, so that stays until the next one
 */
export function show({ cards }: Answer, isOfPress = false): void {
  for (const { key, html } of cards) {
    const card = page?.querySelector<HTMLElement>(`[data-card="${CSS.escape(key)}"]`)
    // What is being sent has an answer of its own.
    // One that was not there at first would push down what is below it: the page has it when it is loaded again.
    if (!card || card.hidden || shown.get(key) === html || card.querySelector('[aria-busy=true]')) continue
    const template = document.createElement('template')
    template.innerHTML = html
    const wanted = template.content.firstElementChild
    if (!wanted) continue
    shown.set(key, html)
    if (!isOfPress) keepRefusal(card, wanted)
    const isHere = card.contains(document.activeElement)
    const { height } = card.getBoundingClientRect()
    morph(card, wanted)
    keepPlace(card, height)
    // The form that had the focus is gone: go on where the result is read.
    if (isHere && !card.contains(document.activeElement))
      card.querySelector<HTMLElement>('[role=status]')?.focus({ preventScroll: true })
  }
  document.dispatchEvent(new Event('tapchip:shown'))
}

/** What is below a card may be under a finger that is on its way, so it stays where it is. */
function keepPlace(card: HTMLElement, height: number): void {
  card.style.minBlockSize = `${height}px`
  card.style.visibility = card.hidden ? 'hidden' : ''
  card.hidden = false
}

/** Gives the room of what is gone back, while nobody looks. */
export function giveRoomBack(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return
    for (const card of page?.querySelectorAll<HTMLElement>('[data-card]') ?? []) card.style.minBlockSize = ''
  })
}

/** The line that says what a press would do. */
export const checkOf = (form: Element): HTMLElement | null | undefined =>
  form.closest('[data-card]')?.querySelector<HTMLElement>('[data-check]')

function keepRefusal(card: Element, wanted: Element): void {
  const refusal = card.querySelector('[role=status][data-state=failed]')
  const silent = wanted.querySelector('[role=status]:not([data-state])')
  if (refusal && wanted.querySelector('form')) silent?.replaceWith(refusal.cloneNode(true))
}

/** What was refused is being corrected. */
export function forgetRefusal(form: Element): void {
  const card = form.closest<HTMLElement>('[data-card]')
  const status = card?.querySelector<HTMLElement>('[role=status][data-state=failed]')
  if (!card || !status) return
  status.replaceChildren()
  delete status.dataset.state
  form.querySelector('[aria-invalid]')?.removeAttribute('aria-invalid')
  shown.delete(card.dataset.card ?? '')
}

/** A sentence of the page in the place of a card's result. */
export function say(form: Element, text: string, state?: 'failed'): void {
  const card = form.closest<HTMLElement>('[data-card]')
  const status = card?.querySelector<HTMLElement>('[role=status]')
  if (!card || !status) return
  const line = document.createElement('p')
  line.textContent = text
  status.replaceChildren(line)
  if (state) status.dataset.state = state
  else delete status.dataset.state
  // It is not as the daemon said any more.
  shown.delete(card.dataset.card ?? '')
}
