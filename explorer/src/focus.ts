import { useLayoutEffect } from 'preact/hooks'

/**
 * Moves the focus when the dependencies change, before the page is painted. `useEffect` runs after painting: it could take the focus from an
 * input that the user has chosen in the meantime.
 */
export const useFocusEffect = useLayoutEffect
