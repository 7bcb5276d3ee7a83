package lock

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/owner"
)

const tokenClient = "285475da-9152-4c83-822a-67ee2f116a79"

func TestParseTokenTakesWhatMayBeJoined(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"a Java thread":      tokenClient + ":17",
		"an exported hold":   owner.NewIssuer(tokenClient).Exported(),
		"the first exported": tokenClient + ":2305843009213693952",
		"the last exported":  tokenClient + ":4611686018427387903",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			token, err := ParseToken(text)
			require.NoError(t, err)
			assert.Equal(t, text, token.String())
		})
	}
}

func TestParseTokenRefuses(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"nothing":                  "",
		"a name":                   "order:42",
		"an upper-case uuid":       strings.ToUpper(tokenClient) + ":17",
		"a sign":                   tokenClient + ":-17",
		"the write side":           tokenClient + ":17:write",
		"a private hold":           owner.NewIssuer(tokenClient).Private(),
		"the first private hold":   tokenClient + ":4611686018427387904",
		"the last private hold":    tokenClient + ":9223372036854775807",
		"a number that is too big": tokenClient + ":9223372036854775808",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := ParseToken(text)
			assert.ErrorIs(t, err, ErrToken)
			assert.ErrorIs(t, err, ErrInvalidArgument)
		})
	}
}

func TestTheZeroTokenIsRefused(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Token{}.String())
	assert.ErrorIs(t, Token{}.check(), ErrToken)
}

// FuzzParseToken: whatever is accepted is what String writes of it, and no
// private hold; whatever is refused says so with ErrToken.
func FuzzParseToken(f *testing.F) {
	for _, text := range []string{
		"", ":", tokenClient, tokenClient + ":17", tokenClient + ":017", tokenClient + ":-1",
		tokenClient + ":2305843009213693951", tokenClient + ":2305843009213693952",
		tokenClient + ":4611686018427387903", tokenClient + ":4611686018427387904",
		strings.ToUpper(tokenClient) + ":17", "{" + tokenClient + "}:17", tokenClient + ":17:write",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err == nil {
			require.Equal(t, text, token.String())
			require.NoError(t, token.check())
			id, err := owner.Parse(text)
			require.NoError(t, err)
			require.NotEqual(t, owner.Private, id.Class())
			return
		}
		require.ErrorIs(t, err, ErrToken)
		require.ErrorIs(t, err, ErrInvalidArgument)
		if id, parsed := owner.Parse(text); parsed == nil {
			require.Equal(t, owner.Private, id.Class(), "refused for no reason: %v", err)
			return
		}
		require.True(t, errors.Is(err, owner.ErrMalformed), "the error does not say why: %v", err)
	})
}
