package fairlock

// JavaAcquire is how Redisson's fair lock is asked for, see the text.
const JavaAcquire = javaAcquireText
