package nanotape.rivals.ring;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The result of a run, as the line of JSON that the harness reads: the fields of `ring/src/report.rs`. */
record Report(Options options, Main.Rival rival, boolean pinned) {
    String oneWay(double writerSeconds, List<Work.Reading> readings) {
        return options.mode().equals("latency")
            ? latency(readings.get(0))
            : throughput(writerSeconds, readings);
    }

    /** The rate of the slowest reader: the load is done when every reader has all of it. */
    private String throughput(double writerSeconds, List<Work.Reading> readings) {
        String readers = readings.stream().map(this::reader).collect(Collectors.joining(","));
        double slowest = readings.stream().mapToDouble(this::rate).min().orElse(0);
        return line(",\"messages_per_second\":" + whole(slowest)
            + ",\"writer_messages_per_second\":" + whole(options.messages() / writerSeconds)
            + ",\"readers\":[" + readers + "]");
    }

    private String reader(Work.Reading reading) {
        return "{\"received\":" + reading.received() + ",\"lost\":" + lost(reading)
            + ",\"laps\":" + reading.laps() + ",\"messages_per_second\":" + whole(rate(reading)) + "}";
    }

    private String latency(Work.Reading reading) {
        return line(",\"rate\":" + options.rate() + ",\"received\":" + reading.received()
            + ",\"lost\":" + lost(reading) + ",\"samples\":" + reading.samples()
            + ",\"from_send_ns\":" + reading.fromSend().json()
            + ",\"from_intended_ns\":" + reading.fromIntended().json());
    }

    String roundTrips(Work.Reading reading) {
        return line(",\"samples\":" + reading.samples()
            + ",\"round_trip_ns\":" + reading.fromSend().json());
    }

    private String line(String rest) {
        return "{\"name\":\"" + rival.name() + "\",\"version\":\"" + rival.version()
            + "\",\"mode\":\"" + options.mode() + "\",\"scope\":\"threads\",\"delivery\":\""
            + (rival.lossless() ? "lossless" : "lossy") + "\",\"queue\":\"" + rival.queue()
            + "\",\"messages\":" + options.messages() + ",\"message_bytes\":" + Message.LENGTH
            + ",\"pinned\":\"" + (pinned ? "thread" : "process") + "\",\"cpus\":"
            + Arrays.toString(options.cpus()) + rest + "}";
    }

    private double rate(Work.Reading reading) {
        return reading.received() / reading.seconds();
    }

    private long lost(Work.Reading reading) {
        return options.messages() - reading.received();
    }

    private static String whole(double number) {
        return String.format(Locale.ROOT, "%.0f", number);
    }
}
