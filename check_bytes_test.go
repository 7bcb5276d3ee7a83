package rueidisson_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestCheckOfANameThatIsNoText: it looks at the keys of that very name, and asks for what may be done to them.
func TestCheckOfANameThatIsNoText(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, ctx, name := server.Client(t), t.Context(), "orders\xff\x80<é\x00>"
	b := client.B()
	require.NoError(t, client.Do(ctx, b.Arbitrary("ACL", "SETUSER", "app", "on", ">secret", "+@all", "&*", "~*\xff\x80*").Build()).Error())
	c, err := rueidisson.Open("redis://app:secret@" + server.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close(ctx)) })
	require.NoError(t, c.Lock(name).Check(ctx))
	require.NoError(t, c.RWLock(name).Check(ctx))
	require.NoError(t, client.Do(ctx, b.Hset().Key(name).FieldValue().FieldValue("mode", "read").FieldValue("owner", "1").Build()).Error())
	require.ErrorIs(t, c.Lock(name).Check(ctx), rueidisson.ErrWrongKind)
	require.NoError(t, c.RWLock(name).Check(ctx))
}
