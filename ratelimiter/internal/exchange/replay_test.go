package exchange

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Only what a second run does not harm may be sent again.
func TestWhichScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, s := range []*scripts.Script{takeScript, decideScript, cancelScript, resetScript, ruleSetScript, rulePauseScript, ruleDeleteScript} {
		assert.False(t, s.Repeatable(), s.Name)
	}
	for _, s := range []*scripts.Script{ruleReadScript, ruleCreateScript} {
		assert.Equal(t, scripts.Safe, s.Header().Replay, s.Name)
	}
}
