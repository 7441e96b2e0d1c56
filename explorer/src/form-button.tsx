import { useRef } from 'preact/hooks'
import { useFocusEffect } from './focus'

/** A form of a list. At most one is open. */
export type ListForm = 'import' | 'change' | 'delete'

interface FormButtonProps {
  readonly label: string
  /** The form that the button opens. */
  readonly opens: ListForm
  /** The open form. */
  readonly form: ListForm | undefined
  readonly onOpen: (form: ListForm) => void
  readonly onClose: () => void
  readonly disabled?: boolean
}

/** Button that opens and closes a form of a list. If the focus is in the form when it closes, the button gets the focus. */
export function FormButton({ label, opens, form, onOpen, onClose, disabled = false }: FormButtonProps) {
  const button = useRef<HTMLButtonElement>(null)
  const isOpen = form === opens
  const wasOpen = useRef(false)
  useFocusEffect(() => {
    const isFocusLost = document.activeElement === null || document.activeElement === document.body
    if (wasOpen.current && form === undefined && isFocusLost) button.current?.focus()
    wasOpen.current = isOpen
  }, [form])
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      disabled={disabled}
      onClick={() => (isOpen ? onClose() : onOpen(opens))}
      ref={button}
    >
      {label}
    </button>
  )
}
