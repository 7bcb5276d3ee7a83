package redistest

import (
	"crypto/rand"
	"strings"
	"testing"
)

// Name returns a key that no other test, run or process uses: the test's name, without the characters that mean something
// in a key, and a random tail. Two calls give two names.
func Name(t testing.TB) string {
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune("{}:/*?[]\\ #", r) {
			return '-'
		}
		return r
	}, t.Name())
	return clean + "-" + strings.ToLower(rand.Text()[:10])
}
