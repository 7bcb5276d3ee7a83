package ratelimiter_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
)

// open returns a client that is closed with the test.
func open(t testing.TB, addr string, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true}, opts...)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
	})
	return c
}
