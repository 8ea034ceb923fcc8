import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { RequestProblem } from '../api.ts'
import { currentSession } from '../session.ts'
import { shell } from '../words/shell.ts'

interface Question {
  readonly title: string
  readonly children?: ComponentChildren
  /** Named as the button that asked. */
  readonly button: string
  readonly isDangerous?: boolean
  /** The team that it concerns, if it is one. */
  readonly team?: string | null | undefined
  /** A text that goes with it, such as a reason. */
  readonly note?: { readonly label: string; readonly maxLength: number }
  /** Sends it. What fails is shown in the dialog, which stays. @param confirmed for `act` */
  readonly run: (confirmed: string | undefined, note: string | undefined) => Promise<unknown>
}

let show: ((asked: Question) => void) | undefined

/** Asks in a dialog that names daemon and team, and the name of a protected context; then runs it. */
export const ask = (question: Question): void => show?.(question)

/** Where questions are shown: once, in the frame. */
export function Asker() {
  const [question, setQuestion] = useState<Question>()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    show = setQuestion
    return () => {
      show = undefined
    }
  }, [])
  useEffect(() => {
    if (question) dialog.current?.showModal()
  }, [question])
  if (!question) return null
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={() => setQuestion(undefined)}>
      <Form question={question} close={() => dialog.current?.close()} />
    </dialog>
  )
}

function Form({ question, close }: { readonly question: Question; readonly close: () => void }) {
  const { daemon, context, isProtected } = currentSession()
  const [typed, setTyped] = useState('')
  const [note, setNote] = useState('')
  const [isRunning, setRunning] = useState(false)
  const [problem, setProblem] = useState<string>()
  const name = context ?? ''

  const submit = async (event: Event) => {
    event.preventDefault()
    if (isRunning) return
    if (isProtected && typed.trim() !== name) return setProblem(shell.wrongName)
    setRunning(true)
    setProblem(undefined)
    try {
      await question.run(isProtected ? name : undefined, note.trim() || undefined)
      close()
    } catch (error) {
      const advice = error instanceof RequestProblem ? (error.advice ?? '') : ''
      setProblem(`${error instanceof Error ? error.message : String(error)} ${advice}`.trim())
    } finally {
      setRunning(false)
    }
  }
  return (
    <form onSubmit={submit}>
      <h2 id="question">{question.title}</h2>
      {question.children}
      <p class="quiet">
        {shell.at(daemon)}
        {context === null ? '' : ` · ${shell.context(context)}`}
        {question.team ? ` · ${shell.ofTeam(question.team)}` : ''}
      </p>
      {question.note && (
        <label class="field">
          {question.note.label} <span class="quiet">({shell.optional})</span>
          <input
            value={note}
            maxLength={question.note.maxLength}
            onInput={({ currentTarget }) => setNote(currentTarget.value)}
          />
        </label>
      )}
      {isProtected && (
        <label class="field">
          {shell.typeName(name)}
          <input
            name="confirm"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      )}
      {problem !== undefined && (
        <p class="problem-line" role="alert">
          {problem}
        </p>
      )}
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={close}>
          {shell.cancel}
        </button>
        <button
          type="submit"
          class={question.isDangerous ? 'button danger' : 'button primary'}
          aria-busy={isRunning}
        >
          {isRunning ? shell.working : question.button}
        </button>
      </div>
    </form>
  )
}
