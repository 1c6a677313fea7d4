package nanotape.rivals.ring;

import java.io.File;
import java.nio.MappedByteBuffer;
import org.agrona.IoUtil;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.broadcast.BroadcastBufferDescriptor;
import org.agrona.concurrent.broadcast.BroadcastReceiver;
import org.agrona.concurrent.broadcast.BroadcastTransmitter;

/**
 * Agrona's broadcast buffer over a file in shared memory, which the writer and each reader map. The
 * writer never waits: a reader that is overtaken loses what was in the buffer.
 */
final class AgronaBroadcast implements Queue {
    private static final int LENGTH = (8 << 20) + BroadcastBufferDescriptor.TRAILER_LENGTH;
    private static final int TYPE = 1;

    private final File file;
    private final MappedByteBuffer[] mappings;

    AgronaBroadcast(int number, int readers) {
        file = new File("/dev/shm/rivals-" + ProcessHandle.current().pid() + "-agrona-" + number);
        mappings = new MappedByteBuffer[readers + 1];
        mappings[0] = IoUtil.mapNewFile(file, LENGTH, true);
        for (int reader = 1; reader <= readers; reader++) {
            mappings[reader] = IoUtil.mapExistingFile(file, "the broadcast buffer");
        }
    }

    @Override
    public Writer writer() {
        BroadcastTransmitter transmitter = new BroadcastTransmitter(new UnsafeBuffer(mappings[0]));
        return message -> transmitter.transmit(TYPE, message, 0, Message.LENGTH);
    }

    @Override
    public Reader reader(int number) {
        return new Receiving(new BroadcastReceiver(new UnsafeBuffer(mappings[number + 1])));
    }

    @Override
    public void close() {
        for (MappedByteBuffer mapping : mappings) {
            IoUtil.unmap(mapping);
        }
        if (!file.delete()) {
            throw new IllegalStateException("cannot delete " + file);
        }
    }

    /** Copies first and validates the copy afterwards, as Agrona's own copying receiver does. */
    private record Receiving(BroadcastReceiver receiver) implements Reader {
        @Override
        public int poll(Sight sight) {
            if (!receiver.receiveNext()) {
                return 0;
            }
            sight.copyOut(receiver.buffer(), receiver.offset());
            if (!receiver.validate()) {
                return 0;
            }
            sight.accept();
            return 1;
        }

        @Override
        public long laps() {
            return receiver.lappedCount();
        }
    }
}
