import { useEffect, useState } from 'preact/hooks'
import { curlOf, type Request, urlOf } from './api'
import { useSession } from './session'

/** The request whose response the page shows, as a URL and a `curl` command to copy. */
export function RequestBar({ request }: { readonly request: Request }) {
  const { user } = useSession()
  return (
    <section class="request" aria-label="Request">
      <Line label={request.method} text={urlOf(request)} name="URL" />
      <Line label="Shell" text={curlOf(request, user)} name="curl line" />
    </section>
  )
}

function Line({ label, text, name }: { readonly label: string; readonly text: string; readonly name: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => setCopied(false), [text])
  const copy = async (): Promise<void> => {
    await copyText(text)
    setCopied(true)
  }
  return (
    <p>
      <span class="method">{label}</span>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be focusable for keyboard users */}
      <code tabIndex={0}>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy the ${name}`}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
      <span class="hidden" role="status">
        {isCopied ? `The ${name} is copied` : ''}
      </span>
    </p>
  )
}

/** Copies a text. Browsers provide `navigator.clipboard` only on secure origins. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
