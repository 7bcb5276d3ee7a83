package codec

// IsText reports whether c writes [Text]: what a server can add to, and match
// with a pattern.
func IsText[T any](c Codec[T]) bool {
	m, ours := c.(*made[T])
	if !ours {
		return false
	}
	_, text := m.to.(textFormat)
	return text
}
