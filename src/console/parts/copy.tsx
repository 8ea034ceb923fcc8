import { useState } from 'preact/hooks'
import { shell } from '../words/shell.ts'

/** A value with a button that copies it. @param label what it is, for the button's name */
export function Copyable({ value, label }: { readonly value: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () => {
    navigator.clipboard.writeText(value).then(
      () => {
        setCopied(true)
        setTimeout(() => setCopied(false), 1500)
      },
      () => undefined,
    )
  }
  return (
    <span class="copyable">
      <code>{value}</code>
      <button type="button" class="button small" aria-label={`${shell.copy}: ${label}`} onClick={copy}>
        {isCopied ? shell.copied : shell.copy}
      </button>
    </span>
  )
}
